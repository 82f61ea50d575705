package linkpages

// arrivalWords of the page on which one checks in, in one language. Leads have {when}.
type arrivalWords struct {
	Button string
	States map[string]stateWords
}

var arrivalIn = map[string]*arrivalWords{
	"en": {"We are here", map[string]stateWords{
		"open":     {"Check in", "Is somebody there? Check in by {when}, or the room is given back for others to use."},
		"optional": {"Check in", "Nobody has to check in to this meeting, but you may."},
		"done":     {"Checked in", "Somebody checked in at {when}. The room is yours."},
		"early":    {"Too early", "You can check in from {when} on."},
		"pending":  {"Not decided yet", "This meeting still waits for a decision."},
		"over":     {"It is over", "This meeting is over or was called off. There is nothing to check in to."},
		"released": {"Room released", "Nobody checked in by {when}, so the room was given back. If it is still free, book it again."},
		"free":     {"The room is free", "No meeting takes place here now, and none begins soon."},
		"stale":    {"This code is old", "The code at the door changes every few minutes. Please scan it again."},
		"unknown":  {"This link does not work", "It may be incomplete. Open it from the mail again, or sign in to check in."},
		"limited":  {"Too many attempts", "Please try again in a minute."},
		"failed":   {"This did not work", "Nobody was checked in. Please try again in a moment."},
	}},
	"de": {"Wir sind da", map[string]stateWords{
		"open":     {"Einchecken", "Ist jemand da? Checken Sie bis {when} ein, sonst wird der Raum für andere freigegeben."},
		"optional": {"Einchecken", "Bei dieser Besprechung muss niemand einchecken, aber Sie können es."},
		"done":     {"Eingecheckt", "Um {when} hat jemand eingecheckt. Der Raum gehört Ihnen."},
		"early":    {"Zu früh", "Sie können ab {when} einchecken."},
		"pending":  {"Noch nicht entschieden", "Über diese Besprechung ist noch nicht entschieden."},
		"over":     {"Vorbei", "Diese Besprechung ist vorbei oder abgesagt. Es gibt nichts einzuchecken."},
		"released": {"Raum freigegeben", "Bis {when} hat niemand eingecheckt, deshalb wurde der Raum freigegeben. Ist er noch frei, buchen Sie ihn neu."},
		"free":     {"Der Raum ist frei", "Hier findet jetzt keine Besprechung statt, und es beginnt auch keine bald."},
		"stale":    {"Der Code ist alt", "Der Code an der Tür wechselt alle paar Minuten. Bitte scannen Sie ihn noch einmal."},
		"unknown":  {"Dieser Link funktioniert nicht", "Vielleicht ist er unvollständig. Öffnen Sie ihn noch einmal aus der Mail, oder melden Sie sich an."},
		"limited":  {"Zu viele Versuche", "Bitte versuchen Sie es in einer Minute noch einmal."},
		"failed":   {"Das hat nicht geklappt", "Es wurde niemand eingecheckt. Bitte versuchen Sie es gleich noch einmal."},
	}},
	"zh-CN": {"我们到了", map[string]stateWords{
		"open":     {"签到", "有人到场了吗？请在 {when} 前签到，否则会议室将被释放，供他人使用。"},
		"optional": {"签到", "本次会议无需签到，您也可以签到。"},
		"done":     {"已签到", "已于 {when} 签到，会议室归您使用。"},
		"early":    {"还未开放", "{when} 起可以签到。"},
		"pending":  {"尚未审批", "本次会议仍在等待审批。"},
		"over":     {"已结束", "本次会议已结束或已取消，无需签到。"},
		"released": {"会议室已释放", "截至 {when} 无人签到，会议室已释放。如仍空闲，请重新预订。"},
		"free":     {"会议室空闲", "这里目前没有会议，近期也没有会议开始。"},
		"stale":    {"二维码已过期", "门口的二维码每隔几分钟更新，请重新扫描。"},
		"unknown":  {"链接无效", "链接可能不完整。请从邮件中重新打开，或登录后签到。"},
		"limited":  {"尝试次数过多", "请一分钟后再试。"},
		"failed":   {"操作未成功", "尚未签到，请稍后再试。"},
	}},
}
