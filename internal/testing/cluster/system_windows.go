package cluster

import (
	"errors"
	"os"
	"syscall"
)

// The command builds on Windows; a throwaway Postgres does not run there.
var errWindows = errors.New("a throwaway Postgres does not run on Windows: use WSL")

const stopSignal = syscall.SIGTERM

func attributes(*owner) *syscall.SysProcAttr { return nil }

func childrenOf(int) ([]int, error) { return nil, errWindows }

func lockFile(string, int) (*os.File, error) { return nil, errWindows }
