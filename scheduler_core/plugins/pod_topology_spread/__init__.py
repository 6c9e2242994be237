"""PodTopologySpread: the rule in plugin.py, its constraints, its filter and its score each in a file of their own."""
