// Package faults_test runs gateways and workers as processes over a Postgres and a Redis of its own,
// under load, and kills, disconnects and stops all of them at random. The guarantees of the product
// must still hold: no acknowledged write is lost or doubled, jobs take effect once and in order, a
// client reads its own writes through any gateway, and no tenant sees data of another.
//
// It runs when SLIPBOX_FAULT_SECONDS is set, as `make test/faults` does:
//
//	SLIPBOX_FAULT_SECONDS  how long clients and faults run; from 60 on memory is checked too
//	SLIPBOX_FAULT_SEED     seed of the faults and the clients; random by default, and printed
//	SLIPBOX_FAULT_RACE     1 builds the processes with the race detector
//	SLIPBOX_FAULT_LOGS     existing folder to write the logs of the processes to
//
// Equal seeds cause equal faults at equal times. Which requests they hit depends on the machine, so
// reproducing a failure may need several runs.
package faults_test
