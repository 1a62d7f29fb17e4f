package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lane injects the faults of one kind of server, one at a time. Faults of different lanes overlap.
type lane struct {
	name   string
	rng    *rand.Rand
	gap    time.Duration // between two faults, on average
	faults []fault
	off    func() bool // nil means never
}

// fault is a fault; it is over when do returns. An error is an error of the test.
type fault struct {
	name string
	do   func(rng *rand.Rand) error
}

// inject injects faults until ctx ends: each one once, in random order, and then all of them again.
func (l *lane) inject(ctx context.Context, gate *sync.RWMutex, b *book) {
	for ctx.Err() == nil {
		for _, i := range l.rng.Perm(len(l.faults)) {
			// Draw the random numbers first: they must not depend on the course of the run.
			wait, own := l.gap/2+time.Duration(l.rng.Int64N(int64(l.gap))), rand.New(rand.NewPCG(l.rng.Uint64(), 0))
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			gate.RLock()
			if ctx.Err() == nil && (l.off == nil || !l.off()) {
				d := l.faults[i]
				b.eventf("%-10s %s", l.name, d.name)
				b.count("faults: "+d.name, 1)
				if err := d.do(own); err != nil {
					b.problemf("%s: %s: %v", l.name, d.name, err)
				}
				b.eventf("%-10s %s: over", l.name, d.name)
			}
			gate.RUnlock()
		}
	}
}

// lease is the time after which the job of a dead worker is free again.
const lease = 15 * time.Second

// lanes returns the lanes of a run. gap is the average time between two kills of a process. It is
// longer for Postgres and the model, which need more time to recover.
func (r *run) lanes(seed uint64, gap time.Duration) []*lane {
	s := r.scene
	restart := func(server, file string, sig syscall.Signal, most time.Duration) func(*rand.Rand) error {
		return func(rng *rand.Rand) error { return s.restart(server, file, sig, some(rng, most)) }
	}
	const postmaster = "postgres/postmaster.pid"
	var kills []fault
	for _, p := range r.processes() {
		kills = append(kills, fault{"kill -9 " + p.name, func(rng *rand.Rand) error {
			p.kill()
			<-time.After(some(rng, time.Second))
			return p.start()
		}})
	}
	var moods []fault
	for _, m := range modelFailures() {
		moods = append(moods, fault{m.name, func(rng *rand.Rand) error {
			s.book.recordOutage("model", func() {
				r.model.set(m.reply)
				defer r.model.set(nil)
				<-time.After(time.Second + some(rng, m.most))
			})
			return nil
		}})
	}
	// The pause is longer than a lease: another worker takes over the jobs, which the paused one
	// notices when it continues.
	var pauses []fault
	for _, p := range s.workers {
		pauses = append(pauses, fault{"pause " + p.name + " past its leases", func(rng *rand.Rand) error {
			return p.pause(lease + time.Second + some(rng, 3*time.Second))
		}})
	}
	lanes := []*lane{
		{name: "processes", gap: gap, faults: kills, off: r.steady.Load},
		{name: "redis", gap: gap, faults: []fault{
			{"kill -9 redis", restart("redis", "redis/pid", syscall.SIGKILL, 2*time.Second)},
			{"empty redis", func(*rand.Rand) error { return s.redisCLI("FLUSHALL") }},
			{"pause redis", func(rng *rand.Rand) error { return s.pauseRedis(time.Second + some(rng, 3*time.Second)) }},
		}},
		{name: "postgres", gap: gap * 3 / 2, faults: []fault{
			{"restart postgres (fast)", restart("postgres", postmaster, syscall.SIGINT, time.Second)},
			{"restart postgres (immediate)", restart("postgres", postmaster, syscall.SIGQUIT, time.Second)},
			{"kill -9 postgres", restart("postgres", postmaster, syscall.SIGKILL, time.Second)},
			{"cut connections to postgres", func(*rand.Rand) (err error) {
				s.book.recordOutage("postgres", func() {
					_, err = s.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'slipbox_app'")
				})
				return err
			}},
		}},
		{name: "model", gap: gap * 2, faults: moods},
		{name: "pauses", gap: gap * 3 / 2, faults: pauses},
	}
	for i, l := range lanes {
		l.rng = rand.New(rand.NewPCG(seed, uint64(i)))
	}
	return lanes
}

func some(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most)))
}

// restart stops a server by a signal, and starts it after a while.
func (s *scene) restart(server, pidFile string, sig syscall.Signal, down time.Duration) (err error) {
	pid, err := s.serverPID(pidFile)
	if err != nil {
		return err
	}
	s.book.recordOutage(server, func() {
		if err = syscall.Kill(pid, sig); err != nil {
			return
		}
		for deadline := time.Now().Add(30 * time.Second); !gone(pid); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				err = fmt.Errorf("process %d does not end", pid)
				return
			}
		}
		<-time.After(down)
		_, err = s.services("up", server)
	})
	return err
}

// gone reports whether a process has ended, also while it is a zombie.
func gone(pid int) bool {
	state, err := output(cleanEnviron(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid))
	return err != nil || strings.HasPrefix(state, "Z")
}

func (s *scene) pauseRedis(d time.Duration) (err error) {
	pid, err := s.serverPID("redis/pid")
	if err != nil {
		return err
	}
	s.book.recordOutage("redis", func() {
		err = syscall.Kill(pid, syscall.SIGSTOP)
		<-time.After(d)
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	})
	return err
}
