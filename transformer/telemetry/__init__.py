"""What a training costs and how far it is: time, memory, operations."""
