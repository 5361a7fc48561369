"""Whether jobs can be relied upon: failures, runs that never end, runs that contradict themselves, work done twice."""
