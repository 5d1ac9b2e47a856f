package stripe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stripe/stripe-go/v76/form"
)

// encode writes params the way Stripe reads them, a[b][0]=c, in one fixed order, so that every attempt sends
// the same bytes. null and empty lists and objects become an empty value, which unsets what it names.
func encode(params map[string]any) *form.Values {
	values := &form.Values{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		add(values, name, params[name])
	}
	return values
}

func add(values *form.Values, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			add(values, name+"["+inner+"]", v[inner])
		}
		if len(v) == 0 {
			values.Add(name, "")
		}
	case []any:
		for i, inner := range v {
			add(values, name+"["+strconv.Itoa(i)+"]", inner)
		}
		if len(v) == 0 {
			values.Add(name, "")
		}
	case nil:
		values.Add(name, "")
	case string:
		values.Add(name, v)
	case bool:
		values.Add(name, strconv.FormatBool(v))
	case json.Number:
		values.Add(name, v.String())
	default:
		values.Add(name, fmt.Sprint(v))
	}
}

// contains says whether an object has everything that another one has, as jsonb's @> would, but lists in order.
func contains(object, part any) bool {
	switch want := part.(type) {
	case map[string]any:
		have, ok := object.(map[string]any)
		for name, inner := range want {
			value, there := have[name]
			if !there || !contains(value, inner) {
				return false
			}
		}
		return ok
	case []any:
		have, ok := object.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !contains(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return object == part
}
