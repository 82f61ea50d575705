package doctor

var (
	ExamineRedis       = examineRedis
	ExamineCertificate = examineCertificate
	JudgeClock         = judgeClock
	JudgeSpace         = judgeSpace
)
