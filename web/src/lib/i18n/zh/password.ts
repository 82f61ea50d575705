import type en from '../en/password'

const zh: typeof en = {
  password: {
    show: '显示密码',
    forgot: '忘记密码？',
    forgotTitle: '忘记密码？',
    forgotLead: '请输入您的邮箱，我们会发送链接供您设置新密码。',
    send: '发送链接',
    sent: '请查看邮箱',
    sentLead: (email) => `如果 ${email} 有对应的密码账户，您将在几分钟内收到链接。链接一小时内有效。`,
    back: '返回登录',
    resetTitle: '设置新密码',
    resetLead: (email) => `账户：${email}。其他设备将退出登录。`,
    next: '新密码',
    endTokens: '同时撤销我的 API 令牌',
    endFeeds: '同时撤销我的日历链接',
    endPasskeys: '同时移除我的通行密钥',
    change: '修改密码',
    joinTitle: '欢迎使用 Punctual',
    joinLead: (email) => `请为 ${email} 设置密码。`,
    join: '开始使用',
    invalidTitle: '此链接无效',
    invalid: '链接已过期、已被使用或不完整。请重新获取链接，或请管理员再次邀请您。',
    request: '获取新链接',
  },
}

export default zh
