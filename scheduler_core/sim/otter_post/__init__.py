"""Otter Post, the demo: a parcel service on 60 nodes, and the controller that keeps it busy."""

from scheduler_core.sim.otter_post.cluster import OtterPost, manifests, sample_options

__all__ = ["OtterPost", "manifests", "sample_options"]
