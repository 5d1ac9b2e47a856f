package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/paidonce/paidonce/internal/deliver"
)

// teller prints the story and keeps account of what in it is true.
type teller struct {
	out     io.Writer
	stage   *stage
	acts    int
	checked int      // claims so far
	wrong   []string // of them not true
	judged  int      // claims before this act
	failed  int      // wrong ones before this act
}

// expect checks one claim.
func (t *teller) expect(claim string, want, found any) {
	if want == found {
		t.checked++
		return
	}
	t.check([]string{fmt.Sprintf("%s: expected %v, found %v", claim, want, found)})
}

// check takes over the result of one comparison: nothing, or every difference.
func (t *teller) check(wrong []string) {
	t.checked++
	t.wrong = append(t.wrong, wrong...)
}

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *teller) act(title string) {
	t.acts++
	t.say("\n%d. %s", t.acts, title)
}

func (t *teller) answersHead() { t.say("\n    %-36s %s", "came in", "answered") }

func (t *teller) answered(times int, eventType, answer string) {
	t.say("    %d × %-32s %s", times, eventType, answer)
}

func (t *teller) tablesHead() {
	t.say("\n    %-30s %-12s %-11s %-22s %s", "in the tables", "event row", "deliveries", "effect", "outbox")
}

func (t *teller) holds(e episode, r rows) {
	outbox := fmt.Sprintf("%d %s", r.outbox, e.action)
	if r.also != "" {
		outbox += ", " + r.also
	}
	t.say("    %-30s %-12s %-11d %-22s %s", e.event.Type, fmt.Sprintf("%d %s", r.events, r.status), r.deliveries,
		fmt.Sprintf("%d %s", r.effects, e.effect), outbox)
}

// verdict ends an act with what became of its claims.
func (t *teller) verdict() {
	wrong := t.wrong[t.failed:]
	if len(wrong) == 0 {
		t.say("\n    ✓ as it must be (%s)", plural(t.checked-t.judged, "check"))
	} else {
		t.say("")
		for _, w := range wrong {
			t.say("    ✗ %s", w)
		}
	}
	t.judged, t.failed = t.checked, len(t.wrong)
}

func (t *teller) summary(took time.Duration) {
	if len(t.wrong) == 0 {
		t.say("\nAll of it is true: %d checks against the tables and the answers, %s.", t.checked, rounded(took))
		return
	}
	t.say("\nNot true, %d of %d checks:", len(t.wrong), t.checked)
	for _, w := range t.wrong {
		t.say("  ✗ %s", w)
	}
}

// leaveRunning says how to go on by hand.
func (t *teller) leaveRunning(program, file string) {
	t.say("\nIt stays up until Ctrl-C, then everything is removed.\n")
	t.say("  webhook    %s", t.stage.server.URL())
	t.say("  secret     %s   (made for this run)", t.stage.secret)
	t.say("  database   psql '%s'", t.stage.ownerURL())
	t.say("  send       %s send --fresh-id --times 5 --parallel 5 --url %s --secret %s '%s'", program, t.stage.server.URL(), t.stage.secret, file)
	t.say("  look       DATABASE_URL='%s' %s events list\n", t.stage.ownerURL(), program)
}

// counts writes answers as "1 × 200 processed, 4 × 200 duplicate".
func counts(answers []deliver.Count) string {
	parts := make([]string, len(answers))
	for i, a := range answers {
		parts[i] = fmt.Sprintf("%d × %d %s", a.Times, a.Status, a.Outcome)
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
