// Package faults_test runs gateways and workers as real processes over a
// Postgres and a Redis of its own, under load, and kills, cuts and stops all of
// them at random. What the product promises must hold all the same: nothing that
// was acknowledged is lost or doubled, jobs take effect once and in order, a
// client reads its own writes through any gateway, and nobody sees what is not theirs.
//
// It runs when SLIPBOX_FAULT_SECONDS is set, as `make test/faults` does:
//
//	SLIPBOX_FAULT_SECONDS  how long clients and faults go on; 60 or more also looks at memory
//	SLIPBOX_FAULT_SEED     the faults and what clients do; default random, and printed
//	SLIPBOX_FAULT_RACE     1: the processes are built with the race detector
//	SLIPBOX_FAULT_LOGS     an existing folder that is given what the processes logged
//
// The same seed gives the same faults at the same times. How they meet the
// requests is up to the machine, so a failure may need some runs to show again.
package faults_test
