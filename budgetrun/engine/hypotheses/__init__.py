"""The forms of hypotheses that learners work on, one file per form."""
