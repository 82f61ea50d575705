package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	columns := []string{"name", "capacity", "floor"}
	for name, tt := range map[string]struct {
		text string
		want []Row
	}{
		"names alone":             {"Turing\nHopper\n", []Row{{1, map[string]string{"name": "Turing"}}, {2, map[string]string{"name": "Hopper"}}}},
		"no header":               {"Turing, 8, 3\n", []Row{{1, map[string]string{"name": "Turing", "capacity": "8", "floor": "3"}}}},
		"header, reordered":       {"Capacity,Name,Color\r\n8,Turing,red\r\n", []Row{{2, map[string]string{"name": "Turing", "capacity": "8", "color": "red"}}}},
		"semicolons":              {"\ufeffname;capacity\nTuring, the big one;8\n", []Row{{2, map[string]string{"name": "Turing, the big one", "capacity": "8"}}}},
		"features in semicolons":  {"Turing,8,a;b\n", []Row{{1, map[string]string{"name": "Turing", "capacity": "8", "floor": "a;b"}}}},
		"tabs":                    {"Turing\t8\n\n\nHopper\t4\n", []Row{{1, map[string]string{"name": "Turing", "capacity": "8"}}, {4, map[string]string{"name": "Hopper", "capacity": "4"}}}},
		"quotes":                  {"\"Turing \"\"T\"\"\",8\n,,\n", []Row{{1, map[string]string{"name": `Turing "T"`, "capacity": "8"}}}},
		"more cells than columns": {"Turing,8,3,x,y\n", []Row{{1, map[string]string{"name": "Turing", "capacity": "8", "floor": "3"}}}},
		"empty":                   {"\n \n", nil},
	} {
		got, err := Read(tt.text, columns)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", name, err, diff)
		}
	}
	_, err := Read("Turing,8\nHopper,\"4\n", columns)
	if e, ok := err.(*SyntaxError); !ok || e.Line < 2 {
		t.Errorf("an open quote: %v", err)
	}
}
