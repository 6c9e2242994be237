"""The Kubernetes API of each cluster at /k8s/<cluster>/: an ASGI application over the rules of the core."""
