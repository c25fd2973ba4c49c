module.exports = ({ env }) => ({
  graphql: {
    enabled: true,
    config: {
      endpoint: '/graphql',
      shadowCRUD: true,
      depthLimit: 10,
      amountLimit: 100,
      defaultLimit: 10,
      maxLimit: 100,
      landingPage: false,
      apolloServer: { introspection: true },
    },
  },
  'users-permissions': {
    config: {
      jwtSecret: env('JWT_SECRET', 'usersecretusersecretusersecret'),
      jwt: { expiresIn: '7d' },
      ratelimit: { enabled: false },
    },
  },
  'review-workflows': { enabled: false },
  upload: { config: { sizeLimit: 1000000 } },
});
