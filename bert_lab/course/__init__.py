"""The course: the tests that an implementation must pass, and the faults that a good test catches."""
