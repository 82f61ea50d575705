package linkpages

import (
	"strings"
	"testing"
)

// Every language says everything.
func TestAnswerWords(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]map[string]map[string]stateWords{"respond": respondStates, "offer": offerStates} {
		for state, s := range words["en"] {
			for _, lang := range []string{"de", "zh-CN"} {
				got := words[lang][state]
				if got.Tag == "" || got.Lead == "" || strings.Contains(s.Lead, "{who}") != strings.Contains(got.Lead, "{who}") ||
					strings.Contains(s.Lead, "{when}") != strings.Contains(got.Lead, "{when}") {
					t.Errorf("%s: %s: %s: %+v", name, lang, state, got)
				}
			}
		}
	}
	for _, lang := range []string{"en", "de", "zh-CN"} {
		if len(respondLabels[lang]) != 3 || !strings.Contains(respondConfirm[lang], "{choice}") || respondOptional[lang] == "" || offerLabels[lang][1] == "" {
			t.Errorf("%s: %v %v", lang, respondLabels[lang], offerLabels[lang])
		}
	}
}
