"""Developers' tools: benchmarks, conformance, the test runner, generated files. `./ksched` finds them in a checkout.

An installed service has none of this: nothing in scheduler_core or kschedweb may import it.
"""
