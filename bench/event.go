package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
)

//go:embed event.json
var eventJSON []byte

var eventText = compact(eventJSON)

func compact(text []byte) string {
	// The placeholders of numbers are no JSON.
	quoted := strings.NewReplacer("{{created}}", `"{{created}}"`, "{{period_end}}", `"{{period_end}}"`).Replace(string(text))
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(quoted)); err != nil {
		panic(err) // an embedded file
	}
	return strings.NewReplacer(`"{{created}}"`, "{{created}}", `"{{period_end}}"`, "{{period_end}}").Replace(out.String())
}

// delivery is one event on its way.
type delivery struct{ id, body string }

func idOf(n int) string { return fmt.Sprintf("evt_1Qbench%016d", n) }

// bodyFor writes event n, about one subscription. Later numbers are newer; those below zero are the oldest.
func bodyFor(n, subscription int) string {
	number := fmt.Sprintf("%012d", subscription)
	return strings.NewReplacer(
		"{{event}}", idOf(n),
		"{{created}}", strconv.Itoa(1764500000+max(n, 0)),
		"{{period_end}}", strconv.Itoa(1767092000+max(n, 0)),
		"{{subscription}}", "sub_1Qbench"+number,
		"{{customer}}", "cus_bench"+number,
	).Replace(eventText)
}

// source gives out the events of one variant: ever new ones, or those already given out.
type source struct {
	subscriptions int
	last          atomic.Int64
}

func (s *source) event(n int) delivery {
	// The same number always gives the same event.
	at := int(uint64(n) * 0x9E3779B97F4A7C15 >> 33)
	return delivery{idOf(n), bodyFor(n, at%s.subscriptions)}
}

func (s *source) fresh() delivery { return s.event(int(s.last.Add(1))) }

// again gives one of the latest events.
func (s *source) again() delivery {
	last := int(s.last.Load())
	return s.event(last - rand.IntN(min(last, 5000)))
}
