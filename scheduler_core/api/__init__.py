"""Kubernetes API objects as the scheduler reads them: immutable, nested and named as upstream.

Only fields the scheduler, admission or the simulated life cycle read are typed here; the whole
manifest stays with whoever stores it. `manifests.py` turns dicts into these objects and back.
"""
