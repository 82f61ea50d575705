package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A panel of the chart compares one figure.
type panel struct {
	title, unit string
	digits      int
	ours        []bar
	others      []bar // as published, see docs/benchmarks.md
}

type bar struct {
	name, value string // of ours the value's name
	is          float64
	label       string // instead of the value, for a range
}

// What others reached is quoted: each engine's figure was the median of three runs on another
// machine with two cores.
var panels = []panel{
	{"Lateness, p99", "ms, less is better", 1,
		[]bar{{name: "punctual, Redis", value: "late.redis"}, {name: "punctual, in memory", value: "late.memory"}},
		[]bar{{name: "river", is: 83}, {name: "BullMQ", is: 99}}},
	{"100,000 jobs due at one instant", "seconds until all are done, less is better", 2,
		[]bar{{name: "punctual, Redis", value: "burst.redis"}, {name: "punctual, in memory", value: "burst.memory"}},
		[]bar{{name: "beanstalkd", is: 2.8}, {name: "river", is: 4.7}, {name: "BullMQ", is: 5.2}, {name: "asynq", is: 15, label: "10 to 15"}}},
	{"Jobs added", "thousands a second, more is better", 0,
		[]bar{{name: "punctual, Redis", value: "add.redis"}, {name: "punctual, in memory", value: "add.memory"}},
		[]bar{{name: "beanstalkd", is: 81}, {name: "river", is: 80}, {name: "asynq", is: 43}, {name: "BullMQ", is: 35}}},
	{"A waiting job", "bytes, less is better", 0,
		[]bar{{name: "punctual, Redis", value: "bytes.redis"}, {name: "punctual, in memory", value: "bytes.memory"}},
		[]bar{{name: "beanstalkd", is: 301}, {name: "river", is: 574}, {name: "asynq", is: 653}, {name: "BullMQ", is: 837}}},
	{"A killed worker's jobs run elsewhere", "after seconds, less is better", 1,
		[]bar{{name: "punctual, Redis", value: "takeover"}},
		[]bar{{name: "beanstalkd", is: 0.01}, {name: "BullMQ", is: 90, label: "60 to 90"}, {name: "asynq", is: 105, label: "76 to 105"}}},
}

// chart draws the panels one below the other, each on a scale of its own that begins at 0.
func chart(values map[string]float64) string {
	const width, left, right, line, gap, head = 760, 170, 96, 22, 22, 34
	var b strings.Builder
	y := 20
	for _, p := range panels {
		fmt.Fprintf(&b, "  <text class=\"title\" x=\"16\" y=\"%d\">%s <tspan class=\"unit\">%s</tspan></text>\n", y+14, p.title, p.unit)
		y += head
		bars := slices.Clone(p.ours)
		for i := range bars {
			bars[i].is = values[bars[i].value]
		}
		bars = append(bars, p.others...)
		most := slices.MaxFunc(bars, func(a, b bar) int { return cmp.Compare(a.is, b.is) }).is
		for i, x := range bars {
			class, label := "other", cmp.Or(x.label, strconv.FormatFloat(x.is, 'f', -1, 64))
			if i < len(p.ours) {
				class, label = "ours", fmt.Sprintf("%.*f", p.digits, x.is)
				if x.is >= 1000 {
					label = count(x.is)
				}
			}
			w := max(2, x.is/most*(width-left-right))
			fmt.Fprintf(&b, "  <text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", left-10, y+12, x.name)
			fmt.Fprintf(&b, "  <rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"16\" rx=\"2\"/>\n", class, left, y, w)
			fmt.Fprintf(&b, "  <text class=\"value\" x=\"%.0f\" y=\"%d\">%s</text>\n", left+w+7, y+12, label)
			y += line
		}
		y += gap
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="punctual compared with other engines">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2933 }
    .title { font-weight: 600; font-size: 15px }
    .unit { font-weight: 400; font-size: 13px; fill: #66707a }
    .name { text-anchor: end }
    .value { fill: #66707a }
    .ours { fill: #1769aa }
    .other { fill: #b8c0c8 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e8ec }
      .unit, .value { fill: #9aa5b1 }
      .ours { fill: #58a6e6 }
      .other { fill: #4a545e }
    }
  </style>
%s</svg>
`, width, y, b.String())
}

// TestChart keeps the drawing well-formed: nothing outside of it, a bar for each figure.
func TestChart(t *testing.T) {
	values := map[string]float64{}
	bars := 0
	for _, p := range panels {
		for _, o := range p.ours {
			values[o.value] = 1234
		}
		bars += len(p.ours) + len(p.others)
	}
	svg := chart(values)
	if n := strings.Count(svg, "<rect "); n != bars {
		t.Errorf("%d bars, want %d", n, bars)
	}
	if !strings.Contains(svg, ">1,234<") || strings.Contains(svg, "%!") || strings.Contains(svg, "NaN") {
		t.Errorf("values are missing:\n%s", svg)
	}
}
