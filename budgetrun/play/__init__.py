"""Playing learners on a stream: problems, the session, metrics, calibration and rules of selection."""
