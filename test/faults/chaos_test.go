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

// lane is one kind of server and what happens to it, one thing at a time.
// Lanes overlap as they like.
type lane struct {
	name      string
	rng       *rand.Rand
	gap       time.Duration // between two disorders, on average
	disorders []disorder
	off       func() bool // nil: never
}

// disorder goes wrong and is over when it returns. An error is one of the test's.
type disorder struct {
	name string
	do   func(rng *rand.Rand) error
}

// play lets things happen until ctx ends: each of them once, in some order,
// and then each of them again.
func (l *lane) play(ctx context.Context, gate *sync.RWMutex, b *book) {
	for ctx.Err() == nil {
		for _, i := range l.rng.Perm(len(l.disorders)) {
			// What is drawn does not depend on what happens.
			wait, own := l.gap/2+time.Duration(l.rng.Int64N(int64(l.gap))), rand.New(rand.NewPCG(l.rng.Uint64(), 0))
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			gate.RLock()
			if ctx.Err() == nil && (l.off == nil || !l.off()) {
				d := l.disorders[i]
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

// lease is how long a job is held without a sign of life.
const lease = 15 * time.Second

// lanes are all that happens in a run. gap is the average time between two kills of a
// process; Postgres and the model need longer to come back, and get it.
func (r *run) lanes(seed uint64, gap time.Duration) []*lane {
	s := r.scene
	restart := func(server, file string, sig syscall.Signal, most time.Duration) func(*rand.Rand) error {
		return func(rng *rand.Rand) error { return s.restart(server, file, sig, some(rng, most)) }
	}
	const postmaster = "postgres/postmaster.pid"
	var kills []disorder
	for _, p := range r.processes() {
		kills = append(kills, disorder{"kill -9 " + p.name, func(rng *rand.Rand) error {
			p.kill()
			<-time.After(some(rng, time.Second))
			return p.start()
		}})
	}
	var moods []disorder
	for _, m := range moodsOfModel() {
		moods = append(moods, disorder{m.name, func(rng *rand.Rand) error {
			s.book.during("model", func() {
				r.model.set(m.reply)
				defer r.model.set(nil)
				<-time.After(time.Second + some(rng, m.most))
			})
			return nil
		}})
	}
	// So that others take over what they hold, and they find out when they go on.
	var stalls []disorder
	for _, p := range s.workers {
		stalls = append(stalls, disorder{"stall " + p.name + " past its leases", func(rng *rand.Rand) error {
			return p.stall(lease + time.Second + some(rng, 3*time.Second))
		}})
	}
	lanes := []*lane{
		{name: "processes", gap: gap, disorders: kills, off: r.steady.Load},
		{name: "redis", gap: gap, disorders: []disorder{
			{"kill -9 redis", restart("redis", "redis/pid", syscall.SIGKILL, 2*time.Second)},
			{"empty redis", func(*rand.Rand) error { return s.redisCLI("FLUSHALL") }},
			{"pause redis", func(rng *rand.Rand) error { return s.pauseRedis(time.Second + some(rng, 3*time.Second)) }},
		}},
		{name: "postgres", gap: gap * 3 / 2, disorders: []disorder{
			{"restart postgres (fast)", restart("postgres", postmaster, syscall.SIGINT, time.Second)},
			{"restart postgres (immediate)", restart("postgres", postmaster, syscall.SIGQUIT, time.Second)},
			{"kill -9 postgres", restart("postgres", postmaster, syscall.SIGKILL, time.Second)},
			{"cut connections to postgres", func(*rand.Rand) (err error) {
				s.book.during("postgres", func() {
					_, err = s.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'slipbox_app'")
				})
				return err
			}},
		}},
		{name: "model", gap: gap * 2, disorders: moods},
		{name: "stalls", gap: gap * 3 / 2, disorders: stalls},
	}
	for i, l := range lanes {
		l.rng = rand.New(rand.NewPCG(seed, uint64(i)))
	}
	return lanes
}

func some(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most)))
}

// restart ends a server by a signal, and starts it after a while.
func (s *scene) restart(server, pidFile string, sig syscall.Signal, down time.Duration) (err error) {
	pid, err := s.serverPID(pidFile)
	if err != nil {
		return err
	}
	s.book.during(server, func() {
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

// gone tells that a process has ended, also when nobody has asked for its exit code yet.
func gone(pid int) bool {
	state, err := output(cleanEnviron(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid))
	return err != nil || strings.HasPrefix(state, "Z")
}

func (s *scene) pauseRedis(d time.Duration) (err error) {
	pid, err := s.serverPID("redis/pid")
	if err != nil {
		return err
	}
	s.book.during("redis", func() {
		err = syscall.Kill(pid, syscall.SIGSTOP)
		<-time.After(d)
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	})
	return err
}
