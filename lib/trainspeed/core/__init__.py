"""Values: trials, runs, the ledger. Knows no framework, no GPU and no chart."""
