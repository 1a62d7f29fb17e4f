package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

func corpusCommand() *cobra.Command {
	dir := cmp.Or(os.Getenv("EVAL_CORPUS"), eval.CorpusDir)
	cmd := &cobra.Command{
		Use: "corpus", Short: "Check the labeled dialogues, and count them by writer, kind, language and length", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dialogues, err := eval.ReadCorpus(dir)
			if err != nil {
				return err
			}
			return eval.PrintCorpus(os.Stdout, dialogues)
		},
	}
	cmd.Flags().StringVar(&dir, "corpus", dir, "folder of the dialogues")
	return cmd
}
