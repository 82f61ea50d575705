package linkpages

import "strings"

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
	Lang: "en", For: "{who} (on behalf of {whom})", Comma: ", ", Space: ", ",
	Weekdays: [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
	Approve:  "Approve", Reject: "Reject", Remark: "Comment", Optional: "optional, sent to the organizer",
	Confirm: map[string]string{
		"approve": "You are about to approve. Please confirm below.",
		"reject":  "You are about to reject. Please confirm below.",
	},
	Taken: "Another meeting has taken the room in the meantime, so the request cannot be approved.",
	Dates: "{n} dates:", Last: "… the last one on {when}",
	Rules:   "The room's policies do not allow this:",
	TooLong: "The comment must have at most 1,000 characters and no control characters.",
	Labels: map[string]string{
		"when": "When", "dates": "Dates", "where": "Where", "instead": "Requested change", "yours": "You decide on", "deadline": "Decide by", "agreed": "Approved so far",
		"organizer": "Organizer", "comment": "Comment", "description": "Description",
	},
	States: map[string]stateWords{
		"open":                {"Approval needed", "{who} has requested a room. Approve or reject?"},
		"move":                {"Approval needed", "{who} has requested to move this meeting. It keeps its current time until someone decides. Approve or reject?"},
		"series":              {"Approval needed", "{who} has requested a room for {n} dates of a series. Your decision applies to all of them. Approve or reject?"},
		"series-move":         {"Approval needed", "{who} has requested to move {n} dates of a series. They keep their current times until someone decides. Your decision applies to all of them. Approve or reject?"},
		"agreed":              {"Approved", "{who} approved on {when}. Other approvers decide next, so there is nothing left for you to do."},
		"approved":            {"Approved", "{who} approved this request on {when}."},
		"approved-by-timeout": {"Approved", "Nobody decided in time, so this request was approved automatically on {when}."},
		"rejected":            {"Rejected", "{who} rejected this request on {when}."},
		"cancelled":           {"Withdrawn", "{who} canceled the meeting on {when}, so there is nothing left to decide."},
		"withdrawn":           {"Withdrawn", "The request has been changed since, so this link no longer works. If your approval is still needed, use the newer e-mail."},
		"expired":             {"Too late", "The deadline for this decision has passed."},
		"closed":              {"Not yours to decide", "Other approvers decide on this request now."},
		"unknown":             {"This link does not work", "It may be incomplete. Open it from the e-mail again, or sign in to decide."},
		"limited":             {"Too many attempts", "Please try again in a minute."},
		"failed":              {"Something went wrong", "No decision was saved. Please try again in a moment."},
	},
}

var german = &words{
	Lang: "de", For: "{who} (in Vertretung von {whom})", Comma: ", ", Space: ", ",
	Weekdays: [7]string{"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
	Approve:  "Genehmigen", Reject: "Ablehnen", Remark: "Kommentar", Optional: "optional, wird an den Organisator gesendet",
	Confirm: map[string]string{
		"approve": "Sie sind dabei zu genehmigen. Bitte bestätigen Sie unten.",
		"reject":  "Sie sind dabei abzulehnen. Bitte bestätigen Sie unten.",
	},
	Taken: "Der Raum wurde inzwischen anderweitig gebucht. Die Anfrage kann daher nicht genehmigt werden.",
	Dates: "{n} Termine:", Last: "… zuletzt am {when}",
	Rules:   "Die Buchungsregeln des Raums lassen das nicht zu:",
	TooLong: "Der Kommentar darf höchstens 1.000 Zeichen und keine Steuerzeichen enthalten.",
	Labels: map[string]string{
		"when": "Wann", "dates": "Termine", "where": "Wo", "instead": "Gewünschte Änderung", "yours": "Sie entscheiden über", "deadline": "Entscheidung bis", "agreed": "Bisher genehmigt",
		"organizer": "Organisator", "comment": "Kommentar", "description": "Beschreibung",
	},
	States: map[string]stateWords{
		"open":                {"Genehmigung erforderlich", "{who} hat einen Raum angefragt. Genehmigen oder ablehnen?"},
		"move":                {"Genehmigung erforderlich", "{who} möchte diese Besprechung verschieben. Bis zur Entscheidung bleibt es beim bisherigen Termin. Genehmigen oder ablehnen?"},
		"series":              {"Genehmigung erforderlich", "{who} hat einen Raum für {n} Termine einer Serie angefragt. Ihre Entscheidung gilt für alle. Genehmigen oder ablehnen?"},
		"series-move":         {"Genehmigung erforderlich", "{who} möchte {n} Termine einer Serie verschieben. Bis zur Entscheidung bleibt es bei den bisherigen Terminen. Ihre Entscheidung gilt für alle. Genehmigen oder ablehnen?"},
		"agreed":              {"Genehmigt", "{who} hat am {when} genehmigt. Als Nächstes entscheiden andere; Sie müssen nichts weiter tun."},
		"approved":            {"Genehmigt", "{who} hat die Anfrage am {when} genehmigt."},
		"approved-by-timeout": {"Genehmigt", "Niemand hat rechtzeitig entschieden, daher wurde die Anfrage am {when} automatisch genehmigt."},
		"rejected":            {"Abgelehnt", "{who} hat die Anfrage am {when} abgelehnt."},
		"cancelled":           {"Zurückgezogen", "{who} hat die Besprechung am {when} abgesagt. Eine Entscheidung ist nicht mehr nötig."},
		"withdrawn":           {"Zurückgezogen", "Die Anfrage wurde inzwischen geändert, daher funktioniert dieser Link nicht mehr. Falls Ihre Genehmigung noch nötig ist, verwenden Sie die neuere E-Mail."},
		"expired":             {"Zu spät", "Die Frist für diese Entscheidung ist abgelaufen."},
		"closed":              {"Nicht mehr bei Ihnen", "Über diese Anfrage entscheiden jetzt andere."},
		"unknown":             {"Dieser Link funktioniert nicht", "Möglicherweise ist er unvollständig. Öffnen Sie ihn noch einmal aus der E-Mail, oder melden Sie sich an, um zu entscheiden."},
		"limited":             {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":              {"Ein Fehler ist aufgetreten", "Es wurde keine Entscheidung gespeichert. Bitte versuchen Sie es gleich noch einmal."},
	},
}

var chinese = &words{
	Lang: "zh-CN", For: "{who}（代{whom}）", Comma: "、", Space: " ",
	Weekdays: [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},
	Approve:  "批准", Reject: "拒绝", Remark: "备注", Optional: "选填，将告知组织者",
	Confirm: map[string]string{
		"approve": "您即将批准此申请。请在下方确认。",
		"reject":  "您即将拒绝此申请。请在下方确认。",
	},
	Taken: "会议室在此期间已被其他会议占用，目前无法批准。",
	Dates: "共 {n} 次：", Last: "……最后一次在 {when}",
	Rules:   "不符合该会议室的预订规则：",
	TooLong: "备注最多 1,000 个字符，且不能包含控制字符。",
	Labels: map[string]string{
		"when": "时间", "dates": "日期", "where": "地点", "instead": "申请改为", "yours": "由您审批", "deadline": "审批截止", "agreed": "已批准",
		"organizer": "组织者", "comment": "备注", "description": "说明",
	},
	States: map[string]stateWords{
		"open":                {"待审批", "{who} 申请使用会议室。是否批准？"},
		"move":                {"待审批", "{who} 申请变更本次会议的安排。审批之前会议维持原安排。是否批准？"},
		"series":              {"待审批", "{who} 申请为系列会议的 {n} 次会议使用会议室。您的决定适用于全部日期。是否批准？"},
		"series-move":         {"待审批", "{who} 申请变更系列会议中 {n} 次会议的安排。审批之前维持原安排，您的决定适用于全部日期。是否批准？"},
		"agreed":              {"已批准", "{who} 已于 {when} 批准。接下来由其他人审批，您无需再操作。"},
		"approved":            {"已批准", "{who} 已于 {when} 批准此申请。"},
		"approved-by-timeout": {"已批准", "逾期无人审批，此申请已于 {when} 自动批准。"},
		"rejected":            {"已拒绝", "{who} 已于 {when} 拒绝此申请。"},
		"cancelled":           {"已撤回", "{who} 已于 {when} 取消会议，无需再审批。"},
		"withdrawn":           {"已撤回", "申请内容已变更，此链接不再有效。如仍需您审批，请使用较新的邮件。"},
		"expired":             {"已逾期", "审批截止时间已过。"},
		"closed":              {"不再由您审批", "此申请现由其他人审批。"},
		"unknown":             {"链接无效", "链接可能不完整。请从邮件中重新打开，或登录后审批。"},
		"limited":             {"尝试次数过多", "请一分钟后再试。"},
		"failed":              {"出错了", "未保存任何决定，请稍后再试。"},
	},
}
