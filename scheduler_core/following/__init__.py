"""Following the objects of another cluster through its Kubernetes API: what to ask next, and what answers mean."""
