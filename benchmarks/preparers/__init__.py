"""What benchmarks/data.py runs beside the pipeline's own stages."""
