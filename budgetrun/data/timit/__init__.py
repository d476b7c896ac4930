"""Speech: sound files and cepstral features, imported only when TIMIT is read."""
