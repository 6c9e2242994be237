"""Upstream's own scheduling benchmark, scheduler_perf, run from its configuration files.

    files        test cases, their workloads and labels, parameters put in
    operations   what an operation may say; anything else is named as not supported
    templates    the part of Go's text/template that the files use
    gates        which feature gates this engine can be run with
    manifests    the objects that operations make
    ports        what an executor needs of a cluster
    cluster      level 2: scheduler, API server in memory, a clock that never waits
    service      level 3: a whole service
    tickers      what happens again and again beside the operations
    executor     carries a workload's operations out
    throughput   counts scheduled pods as upstream's collector does
    command      `./ksched bench --scheduler-perf`; `worker` is one workload in a process of its own

Source: kubernetes v1.34.1, test/integration/scheduler_perf.
"""
