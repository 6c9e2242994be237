"""`./ksched bench`: workloads run and timed, the row-by-row engine beside them, the page of figures.

Every run has a process of its own (`worker`), so that its memory is its own and no run leaves anything to the next.
"""
