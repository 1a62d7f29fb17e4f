package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"
)

// serveProfiles serves profiles of the process (net/http/pprof) on its loopback address, until ctx ends. An address that is
// taken is logged: a process serves without its profiles.
func (c *core) serveProfiles(ctx context.Context, background *sync.WaitGroup) {
	if c.cfg.ProfileAddr == "" {
		return
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.cfg.ProfileAddr)
	if err != nil {
		c.log.ErrorContext(ctx, "profiles are not served; choose another SLIPBOX_PROFILE_ADDR", "error", err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	c.log.InfoContext(ctx, "profiles", "url", "http://"+listener.Addr().String()+"/debug/pprof/")
	background.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.log.ErrorContext(ctx, "profiles are not served anymore", "error", err)
		}
	})
	background.Go(func() {
		<-ctx.Done()
		_ = server.Close() // a profile that is written ends
	})
}
