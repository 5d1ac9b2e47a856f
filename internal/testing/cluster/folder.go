package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"
)

// folderPrefix starts the names of all clusters' folders.
const folderPrefix = "paidonce-postgres-"

// folder is a cluster's temporary folder and the user that Postgres runs as.
type folder struct {
	path  string
	owner *owner   // nil: the user of this process
	lock  *os.File // held while this process lives
}

// owner is the user to drop to when this process runs as root.
type owner struct{ uid, gid int }

func makeFolder() (*folder, error) {
	f := &folder{}
	parent := os.TempDir()
	if os.Geteuid() == 0 {
		var err error
		if f.owner, err = findOwner(); err != nil {
			return nil, err
		}
		if !openToAll(parent) {
			parent = "/tmp"
		}
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, err
	}
	f.path = path
	if f.owner != nil {
		err = os.Chown(path, f.owner.uid, f.owner.gid)
	}
	if err == nil {
		f.lock, err = lockFile(filepath.Join(path, "lock"), os.O_CREATE)
	}
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	return f, nil
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }

// prepare makes a command run as the folder's owner, in the folder, and with
// none of this process's PG* variables.
func (f *folder) prepare(cmd *exec.Cmd) {
	cmd.Dir = f.path
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = attributes(f.owner)
}

// write creates a file that only the folder's owner can read.
func (f *folder) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || f.owner == nil {
		return err
	}
	return os.Chown(path, f.owner.uid, f.owner.gid)
}

func (f *folder) remove() error {
	f.lock.Close()
	return os.RemoveAll(f.path)
}

// findOwner returns the user postgres, or nobody where there is none.
func findOwner() (*owner, error) {
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(account.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(account.Gid)
		if err != nil {
			continue
		}
		return &owner{uid: uid, gid: gid}, nil
	}
	return nil, fmt.Errorf("postgres refuses to run as root, and there is no user postgres or nobody to run it as")
}

// openToAll tells whether any user can reach a folder.
func openToAll(path string) bool {
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
	}
}

// sweep removes folders whose process was killed before it could: a dead
// process holds no lock. A folder's first minute is left alone, since its lock
// may not be taken yet.
func sweep(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	for _, path := range folders {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if lock, err := lockFile(filepath.Join(path, "lock"), 0); err == nil {
			os.RemoveAll(path)
			lock.Close()
		}
	}
}
