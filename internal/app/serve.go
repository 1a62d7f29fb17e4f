package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Serve runs a gateway until ctx ends, then drains it. What a person should
// read (the first key, the demo's commands) goes to stdout.
func Serve(ctx context.Context, cfg Settings, log *slog.Logger, stdout io.Writer, demo bool) error {
	a, err := New(ctx, cfg, log)
	if err != nil {
		return err
	}
	return a.Run(ctx, stdout, demo)
}

// Run serves until ctx ends; then requests in flight finish, streams end, jobs
// go back to the queue and everything is released, within StopTimeout.
func (a *App) Run(ctx context.Context, stdout io.Writer, demo bool) error {
	if err := a.recover(ctx); err != nil {
		return errors.Join(err, a.Close())
	}
	if err := a.firstStart(ctx, stdout); err != nil {
		return errors.Join(err, a.Close())
	}
	if err := a.ensureSigningKey(ctx); err != nil {
		return errors.Join(err, a.Close())
	}
	var demoKey string
	if demo {
		var err error
		if demoKey, err = a.demoKey(ctx); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var background sync.WaitGroup
	background.Go(func() { a.worker.Run(work) })
	background.Go(func() { a.meter.run(work) })
	a.recall.Start()

	server := &http.Server{
		Handler:           a.api,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(a.listener) }()
	a.log.InfoContext(ctx, "serving", "url", a.URL(), "data", a.cfg.Data, "version", CurrentBuild().Version)
	var failed error
	if demo {
		background.Go(func() {
			if err := a.demo(work, stdout, demoKey); err != nil && work.Err() == nil {
				a.log.ErrorContext(work, "the demo could not be prepared", "error", err)
			}
		})
	}
	select {
	case <-ctx.Done():
	case err := <-served:
		failed = fmt.Errorf("serve: %w", err)
	}
	a.log.InfoContext(context.WithoutCancel(ctx), "stopping: requests finish, jobs go back to the queue")
	a.api.Drain() // what only waits for jobs ends now
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.StopTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still running: %w", err), server.Close())
	}
	stopWork()
	background.Wait()
	_, removeErr := a.worker.RemoveEphemeral(stop)
	err = errors.Join(failed, err, removeErr, a.recall.Stop(stop))
	a.meter.flush(stop)
	err = errors.Join(err, a.telemetry.Shutdown(stop), a.Close())
	a.log.InfoContext(stop, "stopped")
	return err
}

// recover takes up what an earlier process left: jobs that it had leased, and
// ephemeral collections when it did not end gracefully.
func (a *App) recover(ctx context.Context) error {
	voided, err := a.worker.Recover(ctx)
	if err != nil {
		return fmt.Errorf("free the jobs of an earlier process: %w", err)
	}
	removed, err := a.worker.RemoveEphemeral(ctx)
	if err != nil {
		return fmt.Errorf("remove ephemeral collections of an earlier process: %w", err)
	}
	if voided > 0 || removed > 0 {
		a.log.InfoContext(ctx, "took up after an earlier process", "jobs", voided, "ephemeral_collections", removed)
	}
	return nil
}
