package refetch

import (
	"maps"
	"slices"
)

// Kinds are the kinds of objects that can be fetched.
func Kinds() []string { return slices.Sorted(maps.Keys(fetchers)) }
