package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// settings are what the flags set.
type settings struct {
	bin     string
	engine  string
	tenants int
	agents  int
	length  time.Duration
	pause   time.Duration
	flood   int
	most    float64
	short   bool
	set     []string
}

const (
	embedded = "embedded"
	servers  = "servers"
)

// maxLength bounds each of the two runs.
const maxLength = 15 * time.Minute

// A short run.
const (
	shortTenants = 8
	shortAgents  = 3
	shortLength  = 5 * time.Second
	shortPause   = 200 * time.Millisecond
	shortFlood   = 20
)

func (s *settings) check() error {
	switch {
	case s.engine != embedded && s.engine != servers:
		return fmt.Errorf("--engine must be %s or %s", embedded, servers)
	case s.engine == servers && (os.Getenv("DATABASE_URL") == "" || os.Getenv("REDIS_URL") == ""):
		return errors.New(`--engine servers needs DATABASE_URL and REDIS_URL; make load sets them for servers of its own`)
	case s.tenants < 1 || s.tenants > 1000 || s.agents < 1 || s.agents > 20 || s.flood < 1 || s.flood > 256:
		return errors.New("--tenants must be 1 to 1000, --agents 1 to 20, --flood 1 to 256")
	case s.length < time.Second || s.length > maxLength:
		return fmt.Errorf("--length must be 1s to %s", maxLength)
	case s.pause < time.Millisecond:
		return errors.New("--pause must be 1ms or more")
	}
	return nil
}

func main() {
	if len(os.Args) == 2 {
		part := map[string]func(io.Reader, io.Writer) error{floodCommand: flooding, modelCommand: modeling}[os.Args[1]]
		if part != nil {
			if err := part(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, "load "+os.Args[1]+":", err)
				os.Exit(1)
			}
			return
		}
	}
	var s settings
	flag.StringVar(&s.bin, "bin", "", "folder with the binaries gateway and worker (required)")
	flag.StringVar(&s.engine, "engine", embedded, "embedded, or servers (DATABASE_URL and REDIS_URL, migrated)")
	flag.IntVar(&s.tenants, "tenants", 200, "tenants besides the flooding one")
	flag.IntVar(&s.agents, "agents", 5, "agents of each tenant; each sends one request at a time")
	flag.DurationVar(&s.length, "length", 90*time.Second, "time of each of the two runs")
	flag.DurationVar(&s.pause, "pause", 10*time.Second, "mean pause of an agent between two requests")
	flag.IntVar(&s.flood, "flood", 32, "requests of the flooding tenant at once")
	flag.Float64Var(&s.most, "most", 2, "highest p99 with the flood, in p99 without it; 0 only reports")
	flag.BoolVar(&s.short, "short", false, "a few seconds, with few tenants and a flood only: fails when a request fails or an agent gets no answer, and measures nothing")
	flag.Func("set", "`NAME=value`, a setting of the processes under load; may be repeated", func(v string) error {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return errors.New("want NAME=value")
		}
		s.set = append(s.set, v)
		return nil
	})
	flag.Parse()
	if s.short {
		s.tenants, s.agents, s.length, s.pause, s.flood, s.most = shortTenants, shortAgents, shortLength, shortPause, shortFlood, 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &s); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, s *settings) error {
	if s.bin == "" {
		return errors.New("--bin is required: the folder with the binaries")
	}
	if err := s.check(); err != nil {
		return err
	}
	site, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer site.stop()
	everyone, flooder, err := site.populate(ctx, s)
	if err != nil {
		return err
	}
	var calm []sample
	if !s.short {
		progressf("without a flood, %s", s.length)
		if calm, err = everyone.act(ctx, s, site, nil); err != nil {
			return err
		}
	}
	progressf("with a flood, %s", s.length)
	loud, err := everyone.act(ctx, s, site, flooder)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if s.short {
		return verify(os.Stdout, s, everyone, loud, flooder)
	}
	return report(os.Stdout, s, calm, loud, flooder)
}

func progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
