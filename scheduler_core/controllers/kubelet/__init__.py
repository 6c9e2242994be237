"""The simulated kubelets: admission, containers and their restarts, static pods, usage and node pressure."""
