"""What an experiment comes to, told to MLflow: a run that no stage waits for."""
