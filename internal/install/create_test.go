package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCreate(t *testing.T) {
	t.Parallel()

	t.Run("given a file that appeared meanwhile when created then it is not overwritten", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "20260301110058_paidonce_init.sql")
		require.NoError(t, os.WriteFile(path, []byte("somebody else's"), 0o644))
		require.ErrorIs(t, create(path, []byte("ours")), os.ErrExist)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "somebody else's", string(content))
	})
}
