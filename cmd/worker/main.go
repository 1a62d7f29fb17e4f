// Command worker runs the jobs of gateways that share a Postgres and a Redis.
//
// Logs and errors go to stderr. Flags override the environment, which overrides the file.
package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/app/daemon"
	"github.com/slipboxhq/slipbox/internal/build"
)

func main() { daemon.Main(newRoot) }

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	var from daemon.Settings
	var addr string
	var stages []string
	var prepares, decides, tasks int
	root := command.Root(&cobra.Command{
		Use:   "worker",
		Short: "Run the jobs of slipbox gateways over Postgres and Redis",
		Long: "Run the jobs of gateways that share a Postgres and a Redis: analyze, link and evolve notes,\n" +
			"copy, import and remove collections. Run any number of workers; each job is done once.\n\n" +
			"A worker needs DATABASE_URL, REDIS_URL and SLIPBOX_WRAPPING_KEY, and the model settings\n" +
			"of its gateways (SLIPBOX_LLM and so on): without them the heuristic analyst works.\n" +
			"`gateway serve` over the embedded store needs no worker.\n\n" +
			"Jobs have four stages: prepare describes and embeds a note, decide links and evolves it,\n" +
			"one at a time in a collection, send calls webhooks, and task is everything else. A worker\n" +
			"that serves only some leaves the others to other workers.\n\n" +
			"An interrupt (Ctrl-C) or SIGTERM stops it gracefully: running jobs end, or go back to the\n" +
			"queue after a while. A second one stops it at once, and loses nothing either.\n\n" +
			"On its address it serves /healthz, /readyz, /metrics and /version; `worker health` asks there.",
		Example: "  worker --env-file slipbox.env\n" +
			"  worker --addr 127.0.0.1:9090 --prepares 16 --decides 32\n" +
			"  worker --stages task,send --tasks 4",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := from.Start(stderr, func(cfg *app.Settings) {
				if addr != "" {
					cfg.WorkerAddr = addr
				}
				if cmd.Flags().Changed("stages") {
					cfg.Jobs.Stages = stages
				}
				for _, f := range []struct {
					name string
					to   *int
					n    int
				}{{"prepares", &cfg.Jobs.Prepares, prepares}, {"decides", &cfg.Jobs.Decides, decides}, {"tasks", &cfg.Jobs.Tasks, tasks}} {
					if cmd.Flags().Changed(f.name) {
						*f.to = f.n
					}
				}
			})
			if err != nil {
				return err
			}
			return app.Work(cmd.Context(), cfg, log)
		},
	}, stdout, stderr)
	b := build.Current()
	root.Version = strings.Join([]string{b.Version, b.Commit, b.Date, b.Go}, " ")
	from.Flags(root.PersistentFlags())
	root.AddCommand(daemon.Health("worker", "SLIPBOX_WORKER_ADDR", func() (string, error) {
		cfg, err := from.Load()
		return cfg.WorkerAddr, err
	}))
	f := root.Flags()
	f.StringVar(&addr, "addr", "", "`host:port` for health and metrics (SLIPBOX_WORKER_ADDR; default 127.0.0.1:0, a free port, named in the log)")
	f.StringSliceVar(&stages, "stages", nil, "`stages` to serve: prepare, decide, task, send (SLIPBOX_JOB_STAGES; default all)")
	f.IntVar(&prepares, "prepares", 0, "prepare jobs at the same time (SLIPBOX_JOB_PREPARES; default SLIPBOX_JOB_WORKERS, 8)")
	f.IntVar(&decides, "decides", 0, "decide jobs at the same time, of different collections (SLIPBOX_JOB_DECIDES; default SLIPBOX_JOB_WORKERS, 8)")
	f.IntVar(&tasks, "tasks", 0, "other jobs at the same time (SLIPBOX_JOB_TASKS; default 2)")
	return root
}
