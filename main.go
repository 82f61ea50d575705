// Command punctual books meeting rooms and makes everything that is due happen on time.
package main

import (
	"os"

	"punctual/app/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
