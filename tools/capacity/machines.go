package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// figures are what was measured: milliseconds of a core of gateways and of Postgres, and bytes.
type figures struct {
	Command string `json:"command"` // that measured them
	Machine string `json:"machine"`
	Search  cost   `json:"search"`
	Add     cost   `json:"add"`    // stored, before its job
	Evolve  cost   `json:"evolve"` // an add and its job, without a model

	DiskBytes  float64 `json:"diskBytes"`  // of a note in Postgres, with vector, log and indexes
	IndexBytes float64 `json:"indexBytes"` // of a note in the memory of a gateway
}

type cost struct {
	Gateway  float64 `json:"gateway"`
	Postgres float64 `json:"postgres"`
}

// workload is what is asked of a number of notes.
type workload struct {
	adds, searches float64 // a day, for each 1,000 notes
	peak, hot      float64
}

// usual is a memory in use: 1 % of it is new every day, and each note that is added is searched for four times.
var usual = workload{adds: 10, searches: 40, peak: 5, hot: 0.25}

// The machines that the table counts, and how much of them may be in use in the busiest second.
const (
	gatewayCores, gatewayIndex = 4, 8 << 30 // of 16 GiB
	databaseCores              = 16
	databaseDisk               = 2e12
	busy, full                 = 0.6, 0.7
	// smallCores and smallIndex are what one process with the embedded store can do in any case: a part of a core, and an index.
	smallCores, smallIndex = 0.5, 1 << 30
)

// need is what a number of notes needs.
type need struct {
	addsPerSecond, searchesPerSecond      float64
	gatewayCores, workerCores, indexBytes float64
	databaseCores, databaseBytes          float64
	gateways, workers, databases          int
	one                                   bool // one process is enough
}

func needs(f figures, w workload, notes float64) (n need) {
	perSecond := notes / 1000 * w.peak / (24 * 60 * 60)
	n.addsPerSecond, n.searchesPerSecond = w.adds*perSecond, w.searches*perSecond
	n.gatewayCores = (n.addsPerSecond*f.Add.Gateway + n.searchesPerSecond*f.Search.Gateway) / 1000
	n.workerCores = n.addsPerSecond * (f.Evolve.Gateway - f.Add.Gateway) / 1000
	n.databaseCores = (n.addsPerSecond*f.Evolve.Postgres + n.searchesPerSecond*f.Search.Postgres) / 1000
	n.indexBytes, n.databaseBytes = notes*w.hot*f.IndexBytes, notes*f.DiskBytes
	if n.one = n.gatewayCores+n.workerCores+n.databaseCores < smallCores && n.indexBytes < smallIndex; n.one {
		return n
	}
	// Two of each, so that one may fail.
	n.gateways = max(2, up(n.gatewayCores/busy/gatewayCores), up(n.indexBytes/gatewayIndex))
	n.workers = max(2, up(n.workerCores/busy/gatewayCores))
	n.databases = max(1, up(n.databaseCores/busy/databaseCores), up(n.databaseBytes/full/databaseDisk))
	return n
}

func up(f float64) int { return int(math.Ceil(f)) }

// machines returns the table of 10^4, 10^6 and 10^8 notes, and of the number from which on one Postgres is too small.
func machines(f figures, w workload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured by `%s`, on %s:\n\n| | gateway, ms of a core | Postgres, ms of a core |\n|---|---:|---:|\n", f.Command, f.Machine)
	for _, c := range []struct {
		name string
		cost
	}{{"hybrid search", f.Search}, {"add", f.Add}, {"add until evolved, `amem` without a model", f.Evolve}} {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f |\n", c.name, c.Gateway, c.Postgres)
	}
	fmt.Fprintf(&b, "\nA note takes %.1f kB in Postgres and %.1f kB in the index of a gateway.\n\n", f.DiskBytes/1e3, f.IndexBytes/1e3)
	fmt.Fprintf(&b, "Each day, for each 1,000 notes, %g are added and %g searches asked; the busiest second has %g times the mean. %g %% of the notes are in an index in memory.\n\n",
		w.adds, w.searches, w.peak, 100*w.hot)
	b.WriteString("| notes | adds/s | searches/s | gateways | workers | Postgres |\n|---:|---:|---:|---|---|---|\n")
	for _, notes := range []float64{1e4, 1e6, 1e8, 1e9} {
		n := needs(f, w, notes)
		fmt.Fprintf(&b, "| %s | %s | %s | ", power(notes), short(n.addsPerSecond), short(n.searchesPerSecond))
		if n.one {
			fmt.Fprintf(&b, "one process with the embedded store: %s of a core, %s of index, %s of disk | | |\n",
				short(n.gatewayCores+n.workerCores+n.databaseCores), bytesOf(n.indexBytes), bytesOf(n.databaseBytes))
			continue
		}
		fmt.Fprintf(&b, "%d (%s cores, %s of index) | %d (%s cores) | %d (%s cores, %s) |\n", n.gateways, short(n.gatewayCores), bytesOf(n.indexBytes),
			n.workers, short(n.workerCores), n.databases, short(n.databaseCores), bytesOf(n.databaseBytes))
	}
	fmt.Fprintf(&b, "\nA gateway and a worker have %d cores and 16 GiB, a Postgres %d cores and %s of disk. Of cores %g %% are in use in the busiest second, of disks %g %%.\n",
		gatewayCores, databaseCores, bytesOf(databaseDisk), 100*busy, 100*full)
	return b.String()
}

func power(n float64) string {
	return "10<sup>" + strconv.Itoa(int(math.Round(math.Log10(n)))) + "</sup>"
}

// short returns a number with two digits that count.
func short(f float64) string {
	switch {
	case f >= 10:
		return strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}

func bytesOf(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}} {
		if n >= unit.size {
			return short(n/unit.size) + " " + unit.name
		}
	}
	return short(n/1e3) + " kB"
}
