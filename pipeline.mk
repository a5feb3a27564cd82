# The data DAG: one block per stage, and nothing else.
