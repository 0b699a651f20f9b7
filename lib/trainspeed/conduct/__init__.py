"""From a plan to runs in the ledger: order, processes, timeouts, progress."""
