"""What applications are made of, as data: one module an application. It imports nothing else of ours."""
