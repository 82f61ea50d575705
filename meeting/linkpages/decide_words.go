package linkpages

import "strings"

// words of the page in one language.
type words struct {
	Lang     string // BCP 47
	Comma    string
	Space    string // between a date and a time
	Weekdays [7]string
	Approve  string
	Reject   string
	Remark   string // label of the comment
	Optional string
	Confirm  map[string]string // by choice: that nothing has happened yet
	Taken    string
	Rules    string
	For      string // {who} decided in the place of {whom}
	Dates    string // how many a series has: {n}
	Last     string // of them: {when}
	TooLong  string
	Labels   map[string]string
	States   map[string]stateWords
}

// stateWords have {who} and {when} in their lead, those of a series {n} dates.
type stateWords struct{ Tag, Lead string }

// wordsFor are those of the language nearest to what a person wants; English if none is.
func wordsFor(locale string) *words {
	for wish := range strings.SplitSeq(strings.ToLower(locale), ",") {
		switch lang := strings.TrimSpace(wish); {
		case strings.HasPrefix(lang, "zh"):
			return chinese
		case strings.HasPrefix(lang, "de"):
			return german
		case strings.HasPrefix(lang, "en"):
			return english
		}
	}
	return english
}

var english = &words{
	Lang: "en", For: "{who} (for {whom})", Comma: ", ", Space: ", ",
	Weekdays: [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
	Approve:  "Approve", Reject: "Reject", Remark: "Comment", Optional: "optional, told to the organiser",
	Confirm: map[string]string{
		"approve": "You are about to approve. Nothing has happened yet: please confirm below.",
		"reject":  "You are about to reject. Nothing has happened yet: please confirm below.",
	},
	Taken: "The room was taken by another meeting in the meantime, so this cannot be approved now.",
	Dates: "{n} dates:", Last: "… and so on, the last on {when}",
	Rules:   "The rules of the room do not allow this:",
	TooLong: "The comment cannot be used: it may have at most 1,000 characters and no control characters.",
	Labels: map[string]string{
		"when": "When", "dates": "Dates", "where": "Where", "instead": "Wanted instead", "yours": "You decide on", "deadline": "Decide by", "agreed": "Agreed so far",
		"organizer": "Organiser", "comment": "Comment", "description": "Description",
	},
	States: map[string]stateWords{
		"open":                {"Decision wanted", "{who} asks for a room. Do you agree?"},
		"move":                {"Decision wanted", "{who} asks to move this meeting. Until that is decided it stays where it is. Do you agree?"},
		"series":              {"Decision wanted", "{who} asks for a room on {n} dates of a series. You decide on all of them at once. Do you agree?"},
		"series-move":         {"Decision wanted", "{who} asks to move {n} dates of a series. Until that is decided they stay where they are, and you decide on all of them at once. Do you agree?"},
		"agreed":              {"Agreed", "{who} agreed on {when}. Others decide now; there is nothing more for you to do."},
		"approved":            {"Approved", "{who} approved this request on {when}."},
		"approved-by-timeout": {"Approved", "Nobody decided in time, so this request was approved on {when}."},
		"rejected":            {"Rejected", "{who} rejected this request on {when}."},
		"cancelled":           {"Withdrawn", "{who} cancelled the meeting on {when}. There is nothing to decide any more."},
		"withdrawn":           {"Withdrawn", "What was asked for has been changed since, so this link decides nothing any more. If you are asked again you have a newer mail."},
		"expired":             {"Too late", "The time to decide has passed. There is nothing to decide any more."},
		"closed":              {"Not yours to decide", "Others decide on this request now."},
		"unknown":             {"This link does not work", "It may be incomplete. Open it from the mail again, or sign in to decide."},
		"limited":             {"Too many attempts", "Please try again in a minute."},
		"failed":              {"This did not work", "Nothing was decided. Please try again in a moment."},
	},
}

var german = &words{
	Lang: "de", For: "{who} (für {whom})", Comma: ", ", Space: ", ",
	Weekdays: [7]string{"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
	Approve:  "Zustimmen", Reject: "Ablehnen", Remark: "Kommentar", Optional: "freiwillig, geht an die organisierende Person",
	Confirm: map[string]string{
		"approve": "Sie sind dabei zuzustimmen. Noch ist nichts geschehen: Bitte bestätigen Sie unten.",
		"reject":  "Sie sind dabei abzulehnen. Noch ist nichts geschehen: Bitte bestätigen Sie unten.",
	},
	Taken: "Der Raum ist inzwischen anderweitig belegt. Deshalb lässt sich der Anfrage jetzt nicht zustimmen.",
	Dates: "{n} Termine:", Last: "… und so weiter, zuletzt am {when}",
	Rules:   "Die Regeln des Raums lassen das nicht zu:",
	TooLong: "Der Kommentar kann so nicht verwendet werden: höchstens 1.000 Zeichen, keine Steuerzeichen.",
	Labels: map[string]string{
		"when": "Wann", "dates": "Termine", "where": "Wo", "instead": "Stattdessen", "yours": "Sie entscheiden über", "deadline": "Entscheiden bis", "agreed": "Bisher zugestimmt",
		"organizer": "Organisiert von", "comment": "Kommentar", "description": "Beschreibung",
	},
	States: map[string]stateWords{
		"open":                {"Bitte entscheiden", "{who} bittet um einen Raum. Stimmen Sie zu?"},
		"move":                {"Bitte entscheiden", "{who} möchte diese Besprechung verlegen. Bis zur Entscheidung bleibt es beim bisherigen Termin. Stimmen Sie zu?"},
		"series":              {"Bitte entscheiden", "{who} bittet um einen Raum für {n} Termine einer Serie. Sie entscheiden über alle zugleich. Stimmen Sie zu?"},
		"series-move":         {"Bitte entscheiden", "{who} möchte {n} Termine einer Serie verlegen. Bis zur Entscheidung bleibt es bei den bisherigen Terminen. Sie entscheiden über alle zugleich. Stimmen Sie zu?"},
		"agreed":              {"Zugestimmt", "{who} hat am {when} zugestimmt. Jetzt entscheiden andere; für Sie ist nichts mehr zu tun."},
		"approved":            {"Genehmigt", "{who} hat der Anfrage am {when} zugestimmt."},
		"approved-by-timeout": {"Genehmigt", "Niemand hat rechtzeitig entschieden. Die Anfrage gilt seit {when} als genehmigt."},
		"rejected":            {"Abgelehnt", "{who} hat die Anfrage am {when} abgelehnt."},
		"cancelled":           {"Zurückgezogen", "{who} hat die Besprechung am {when} abgesagt. Es gibt nichts mehr zu entscheiden."},
		"withdrawn":           {"Zurückgezogen", "Die Anfrage hat sich inzwischen geändert; mit diesem Link lässt sich nichts mehr entscheiden. Falls Sie erneut gefragt sind, haben Sie eine neuere Mail."},
		"expired":             {"Zu spät", "Die Frist für die Entscheidung ist abgelaufen. Es gibt nichts mehr zu entscheiden."},
		"closed":              {"Nicht mehr bei Ihnen", "Über diese Anfrage entscheiden jetzt andere."},
		"unknown":             {"Dieser Link funktioniert nicht", "Vielleicht ist er unvollständig. Öffnen Sie ihn noch einmal aus der Mail, oder melden Sie sich an."},
		"limited":             {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":              {"Das hat nicht geklappt", "Es wurde nichts entschieden. Bitte versuchen Sie es gleich noch einmal."},
	},
}

var chinese = &words{
	Lang: "zh-CN", For: "{who}（代{whom}）", Comma: "、", Space: " ",
	Weekdays: [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},
	Approve:  "批准", Reject: "拒绝", Remark: "备注", Optional: "选填，将告知组织者",
	Confirm: map[string]string{
		"approve": "您即将批准此申请。目前尚未生效，请在下方确认。",
		"reject":  "您即将拒绝此申请。目前尚未生效，请在下方确认。",
	},
	Taken: "会议室在此期间已被其他会议占用，目前无法批准。",
	Dates: "共 {n} 次：", Last: "……依此类推，最后一次在 {when}",
	Rules:   "不符合该会议室的使用规则：",
	TooLong: "备注无法使用：最多 1,000 个字符，且不能含有控制字符。",
	Labels: map[string]string{
		"when": "时间", "dates": "日期", "where": "地点", "instead": "申请改为", "yours": "由您审批", "deadline": "审批截止", "agreed": "已同意",
		"organizer": "组织者", "comment": "备注", "description": "说明",
	},
	States: map[string]stateWords{
		"open":                {"待审批", "{who} 申请使用会议室，您是否同意？"},
		"move":                {"待审批", "{who} 申请变更本次会议的安排；审批之前会议维持原安排。您是否同意？"},
		"series":              {"待审批", "{who} 申请为系列会议的 {n} 次会议使用会议室，您的决定适用于全部日期。您是否同意？"},
		"series-move":         {"待审批", "{who} 申请变更系列会议中 {n} 次会议的安排；审批之前维持原安排，您的决定适用于全部日期。您是否同意？"},
		"agreed":              {"已同意", "{who} 已于 {when} 同意，现由其他人审批，您无需再操作。"},
		"approved":            {"已批准", "{who} 已于 {when} 批准此申请。"},
		"approved-by-timeout": {"已批准", "逾期无人审批，此申请已于 {when} 自动批准。"},
		"rejected":            {"已拒绝", "{who} 已于 {when} 拒绝此申请。"},
		"cancelled":           {"已撤回", "{who} 已于 {when} 取消会议，无需再审批。"},
		"withdrawn":           {"已撤回", "申请内容已变更，此链接不再有效。如仍需您审批，请查看较新的邮件。"},
		"expired":             {"已逾期", "审批时间已过，无需再审批。"},
		"closed":              {"不再由您审批", "此申请现由其他人审批。"},
		"unknown":             {"链接无效", "链接可能不完整。请从邮件中重新打开，或登录后审批。"},
		"limited":             {"尝试次数过多", "请一分钟后再试。"},
		"failed":              {"操作未成功", "尚未作出任何决定，请稍后再试。"},
	},
}
