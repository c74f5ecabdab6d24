"""What has been measured, read from reports/, beside what the paper and others published."""
